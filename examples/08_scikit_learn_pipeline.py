"""Selection as a step of a scikit-learn pipeline, cross-validated and searched like any other estimator.

    python examples/08_scikit_learn_pipeline.py

`SelectiveClassifier` trains its candidates under one budget in every `fit`, and predicts with the winner. Parameters of the
selection and of the candidates have names, so that a grid search can try them.
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from restsure.integrations.sklearn import SelectiveClassifier


def main() -> None:
    x, x_test, y, y_test = train_test_split(*load_digits(return_X_y=True), test_size=500, random_state=0)
    candidates = [
        ("bayes", MultinomialNB()),
        ("linear", SGDClassifier()),
        ("network", MLPClassifier(128)),
    ]
    selection = SelectiveClassifier(candidates, budget=150, batch_size=32, random_state=0)
    model = make_pipeline(MinMaxScaler(clip=True), selection)

    scores = cross_val_score(model, x, y, cv=3)
    print(f"Right in three folds: {', '.join(f'{score:.1%}' for score in scores)}")

    grid = {
        "selectiveclassifier__budget": [50, 150],
        "selectiveclassifier__network__learning_rate_init": [1e-3, 1e-2],
    }
    search = GridSearchCV(model, grid, cv=3).fit(x, y)
    print(f"Best of {len(search.cv_results_['params'])}, {search.best_score_:.1%} right: {search.best_params_}")

    winner = search.best_estimator_[-1]
    print(f"Trained with these on all folds, {winner.result_}")
    print(f"  training steps: {dict(winner.result_.pulls)}")
    print(f"  {winner.result_.certificate}")
    # The budget goes through the digits more than once, and then losses are on digits seen before: lower than on new ones.
    print(f"On digits held back from all that, {search.score(x_test, y_test):.1%} are right.")


if __name__ == "__main__":
    main()
